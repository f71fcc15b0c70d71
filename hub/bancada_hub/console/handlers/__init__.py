"""What the console answers, a file a topic; each lists its routes at the foot."""
