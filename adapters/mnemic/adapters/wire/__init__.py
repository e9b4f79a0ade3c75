"""What doors over a wire share: the verbs as a table, their documents in JSON, their schemas.

A door translates and holds no logic. What there is to translate stands here once: which verbs there
are and who may call them (``verbs``), what they take and answer (``shapes``, described by
``glossary``), how a document becomes a call and a result a document (``documents``), how errors
travel (``problems``), and how a point of the past is spelled (``points``).
"""
