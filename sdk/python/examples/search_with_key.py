"""The first search with a key. Needs SEARCH402_API_KEY; SEARCH402_BASE_URL says where."""

from search402 import Search402

with Search402() as client:
    response = client.search("kestrel nesting cliffs", max_results=5)

for item in response.result.results:
    print(item.title, item.url)
