"""What all our servers share: settings, listening, workers, shutdown, logs, metrics, guard."""
