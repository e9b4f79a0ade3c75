"""deep_reference: what memory holds about a question, weighed instead of only ranked.

intent → evidence by our own recall ranking → trust → supersession → contradiction → an answer that
says what to lean on, what to distrust, and how sure it is. Everything here is a function of a view
and of texts: no model, no clock, the same answer live and as of any point of the past.
"""
