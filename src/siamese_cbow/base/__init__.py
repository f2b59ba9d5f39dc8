"""What every room stands on.

    arrays    names of array types, arrays to and from disk, how many threads to use, pickles without caches
      [BROKEN_NPY, Bytes, Counts, Floats, Ids, Offsets, Vectors, append_array, as_mapped, check_ids, check_offsets,
      mapped_array, save_array, thread_count, without_caches]
    disk      hashes, syncs, locks and swaps, errors of the disk in plain words, what files say of their writer; what
      may be written where: which files are ours, links, pipes
      [UNWRITABLE, check_file_replaceable, check_replaceable, clear_disk_errors, file_hash, file_text, is_utf8,
      remove_ours, sample_hash, standard_stream, what_reads, written_by]
    files     files and folders that are written whole or not at all [atomic_file, atomic_folder, one_writer]
    option_fields  settings as fields that are checked [Option, check_options, option, options]
    notebook  small tables that a notebook shows [card, grid]

Knows nothing of texts, words or models.
"""
