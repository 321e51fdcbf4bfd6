"""The service: owners let analysts learn from tables that they never see.

Two layers. The *domain* is functions over a `House` that take who asks and return frozen dataclasses; it
knows nothing of HTTP. The API and the pages call it and nothing else, and neither holds a rule of its own.

===============  ==================================================================================
``house``        the folder, the database (the ledger's own), settings, the time
``who``          `Who`: name, role, scopes; ``require``
``members``      members, tokens, one-time links, sessions: ``of_token``, ``of_session``, ``follow_link``
``people``       budgets and caps: ``purse``, ``accounts``, ``grant``, ``set_cap``, ``ledger``, ``burn``
``tables``       ``tables``, ``table``, ``sample``, ``register``, ``refresh``, ``withdraw``, ``set_rules``
``work``         requests: `Request`, their price on no rows, and how they are performed
``plans``        ``plan``: price, odds, noise, time, refusals; free
``jobs``         the states: ``submit``, ``jobs``, ``job``, ``cancel``, ``decide``, ``approvals``
``models``       models: ``models``, ``model_entry``, ``model_of``, ``model_bytes``
``verifying``    ``verify``: whole? signed? card = charge? chain to head? head = witness?
``composer``     fields of the form in which a plan is written, from what learners and questions declare
``journal``      the audit log: ``notes``
``clock``        when an answer comes, by the plan and ``max_rows`` alone
``runner``       takes jobs from the queue, a process each (``worker``)
``refusals``     errors with a status; what is hidden is not there (404)
===============  ==================================================================================

Every function that takes a ``Who`` checks by itself what they may do: a page can call any of them with
whoever is signed in. Every error is a `PrivetError` with a message and a hint in our words; ``status_of``
gives its status.
"""
