"""What every server of ours shares: settings, listening, workers, drain, logs, metrics, guard."""
