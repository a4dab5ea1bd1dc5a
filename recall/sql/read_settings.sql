SELECT settings, settings_version FROM state
