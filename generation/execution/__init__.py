"""Long runs of model calls: the machinery that every kind of run shares.

A kind of run is described by a `RunKind` (states.py: how its replies and manifests are stored) and by a subclass of
`WorkQueue` (work_queue.py: how an item becomes a call, and what is stored of its outcome). Generation runs are described
in generation/responses/, judge runs in judging/runs/.

From "work on run N", the Celery task, to the HTTP request stand five objects:

    task -> work_on -> work_through
                         |
                       Worker         a loop: takes calls from the queue, gives outcomes back; one for each queue
                       |     |
               WorkQueue   Engine     the queue leases, prepares and stores (database, no event loop);
                             |        the engine makes many calls at once (event loop, no database)
                           OpenAIChat  one request, one reply or one error (generation/llm/chat.py)
                             |
                           Connections  the HTTP client of one endpoint

A judge's queue has a transport that builds requests and reads replies. A chat's transport only hands the engine the call
of the client; the transports for embeddings and log-probabilities stand between the engine and the client.

What limits calls stands beside this chain, not in it: `WorkerBudget` (what a worker has reserved of the run's budget),
`EndpointRateLimit` (one row for each endpoint), `Slots` (a worker's part of an endpoint's calls at once, in rows).
`WriteAheadLog` keeps each reply in a file until the queue has stored it; `recovery` stores what killed workers left
there. Leases say which worker holds which item and expire by themselves. Nothing is billed twice, no reply is lost or
stored twice, and no budget is exceeded.
"""
