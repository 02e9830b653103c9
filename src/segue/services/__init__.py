"""What users ask for, made of core, stores and effects. Silent: only surfaces print."""
