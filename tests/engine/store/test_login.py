"""How a process logs in to PostgreSQL."""

from curtsy.store import Store
from support.sql import run, text


async def test_user_and_password_may_be_options_of_the_url(postgres_url: str) -> None:
    """As with psql; and no option that is a secret becomes a setting of the session."""
    mark = "&" if "?" in postgres_url else "?"
    async with Store(f"{postgres_url}{mark}password=hush&user=postgres") as store:
        assert await store.read(lambda c: run(c, text("SELECT 1")).scalar()) == 1
