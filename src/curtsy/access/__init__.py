"""Access: API keys, browser sessions and quotas."""
