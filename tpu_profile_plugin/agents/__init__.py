"""The verbs as tools of agents over MCP, and the guide that agents read first."""
