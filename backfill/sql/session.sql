-- For the one transaction of a run. Set here, and not while connecting: a pooler refuses what it does
-- not know. The snapshot has to live as long as the plugin takes.
SET LOCAL application_name = 'memory-backfill';
SET LOCAL timezone = 'UTC';
SET LOCAL statement_timeout = 0;
SET LOCAL idle_in_transaction_session_timeout = 0
