UPDATE state SET keys_version = keys_version + 1
