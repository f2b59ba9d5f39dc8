"""The foundation of every room.

    arrays    names of array types, arrays on disk, the number of threads, pickles without caches
      [BROKEN_NPY, Bytes, Counts, Floats, GrowingArray, Ids, Offsets, Vectors, append_array, as_mapped, check_ids,
      check_offsets, mapped_array, save_array, thread_count, without_caches]
    disk      hashes, syncs, locks and swaps, disk errors in plain words, which release wrote a file; what may be
      written where: which files are ours, links, pipes
      [UNWRITABLE, as_path, check_file_replaceable, check_replaceable, clear_disk_errors, file_hash, file_text, is_utf8,
      remove_ours, sample_hash, standard_stream, what_reads, written_by]
    files     files and folders written atomically [atomic_file, atomic_folder, one_writer]
    option_fields  settings as checked fields [Option, at_least_1, check_names, check_options,
      checked_list, checked_value, named_options, option, options]
    notebook  small tables for notebooks [card, grid]

Knows nothing about texts, words or models.
"""
