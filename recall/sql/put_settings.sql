UPDATE state SET settings = settings || $1::jsonb, settings_version = settings_version + 1
RETURNING settings, settings_version
