-- Whether the grace period $1 is over since the tables were adopted; fresh ones were not.
SELECT NOT EXISTS (
    SELECT FROM memory_plugin.plugin_adoption
    WHERE adopted_at > now() - $1::interval
)
