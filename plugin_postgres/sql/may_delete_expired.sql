-- Whether the tables were adopted longer ago than the grace period $1, or never.
SELECT NOT EXISTS (
    SELECT FROM memory_plugin.plugin_adoption
    WHERE adopted_at > now() - $1::interval
)
