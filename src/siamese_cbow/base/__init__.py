"""What every room stands on.

    arrays    names of array types, arrays from disk, how many threads to use, pickles without caches
      [Bytes, Counts, Floats, Ids, Offsets, Vectors, check_ids, check_offsets, mapped_array, thread_count,
      without_caches]
    disk      syncs, locks and swaps, and errors of the disk in plain words
    targets   what may be written where: which files are ours, links, pipes [check_replaceable, remove_ours]
    files     files and folders that are written whole or not at all, and their hashes
      [atomic_file, atomic_folder, file_hash, one_writer, sample_hash]
    option_fields  settings as fields that are checked [Option, check_options, option, options]
    notebook  small tables that a notebook shows [card, grid]

Knows nothing of texts, words or models.
"""
