"""What operators see: logs with request ids, metrics, whether the parts are ready, and reports of faults."""
