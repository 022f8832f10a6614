"""What keeps workers running: requested work in rows, heartbeats, the schedule, and recycling by memory."""
