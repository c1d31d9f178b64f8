"""Several simple queries at once, merged by reciprocal rank."""

import asyncio

from search402 import AsyncSearch402


async def main() -> None:
    """Search for three phrasings of one question."""
    async with AsyncSearch402() as client:
        merged = await client.search_many(
            ["kestrel nesting cliffs", "falcon breeding ledges", "raptor nest sites"]
        )
    for page in merged.results[:10]:
        print(f"{page.score:.4f} {page.url}")
    for query, error in merged.failures.items():
        print(f"failed: {query}: {error}")


asyncio.run(main())
