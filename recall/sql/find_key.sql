SELECT api_keys.id, api_keys.disabled, state.keys_version
FROM state LEFT JOIN api_keys ON api_keys.hash = $1
