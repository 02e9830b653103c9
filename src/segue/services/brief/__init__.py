"""Where a brief comes from: its facts are brought together here and composed by ``core/brief/``."""
