"""Every setting with its default and bounds; docs/reference/settings.md describes each."""

import os
from typing import Annotated, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from curtsy import __version__
from curtsy.config.validators import (
    database_url,
    existing_paths,
    header_value,
    host_names,
    networks,
    origins,
    proxy_addresses,
    python_files,
    secret,
    worker_processes,
)
from curtsy.model.spans import Span

PREFIX = "CURTSY_"
FILE = "curtsy.toml"
UNPREFIXED = ("api_port", "max_retry_attempts", "scrape_timeout", "crawl_cache_ttl", "log_level",
              "database_url")  # fmt: skip
"""Settings whose names also work without our prefix, as the API documents use them."""

DatabaseUrl = Annotated[str, BeforeValidator(secret), AfterValidator(database_url)]
HeaderValue = Annotated[str, AfterValidator(header_value)]
Networks = Annotated[str, AfterValidator(networks)]
ProxyAddresses = Annotated[str, AfterValidator(proxy_addresses)]
HostNames = Annotated[str, AfterValidator(host_names)]
Origins = Annotated[str, AfterValidator(origins)]
Paths = Annotated[str, AfterValidator(existing_paths)]
PythonFiles = Annotated[str, AfterValidator(python_files)]
WorkerProcesses = Annotated[int, BeforeValidator(worker_processes)]
Level = Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"]
LogLevel = Annotated[
    Level, BeforeValidator(lambda given: {w.lower(): w for w in get_args(Level)}.get(given, given))
]


class Settings(BaseSettings):
    """Durations are in seconds."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_ignore_empty=True, extra="forbid", frozen=True, toml_file=FILE
    )

    database_url: DatabaseUrl = "sqlite:///curtsy.db"
    db_pool_size: int = Field(10, ge=1, le=500)
    api_host: str = Field("127.0.0.1", min_length=1, max_length=253)
    api_port: int = Field(8000, ge=0, le=65_535)
    """0: any free port."""
    open_access: Literal["off", "on"] = "off"
    allowed_hosts: HostNames = ""
    """Empty: `api_host` and the names of this machine."""
    cors_origins: Origins = ""
    streams_per_key: int = Field(100, ge=1, le=100_000)
    worker_processes: WorkerProcesses = 1
    worker_slots: int = Field(100, ge=1, le=10_000)
    """Of all worker processes together."""
    extract_processes: int = Field(os.cpu_count() or 1, ge=1, le=1_000)
    extract_seconds: Span = Field(20, ge=0.1, le=600)
    extract_memory_bytes: int = Field(512 * 2**20, ge=64 * 2**20, le=64 * 2**30)
    scrapers: PythonFiles = ""
    """Files of custom scrapers; scrapers of installed packages are found without it."""
    scraper_data: Paths = ""
    """Files and folders that custom scrapers may read besides code."""
    sources_file: str = Field("sources.toml", min_length=1, max_length=1_000)
    """A file that is set must exist; the default file need not."""
    lease_seconds: Span = Field(15, ge=1, le=600)
    min_delay_seconds: Span = Field(1.0, ge=0, le=86_400)
    source_concurrency: int = Field(1, ge=1, le=1_000)
    connect_timeout: Span = Field(10, ge=0.1, le=600)
    scrape_timeout: Span = Field(30, ge=0.1, le=3_600)
    max_body_bytes: int = Field(10 * 2**20, ge=1_024, le=2**30)
    max_redirects: int = Field(10, ge=0, le=100)
    max_retry_attempts: int = Field(3, ge=0, le=100)
    retry_base: Span = Field(60, ge=0, le=86_400)
    retry_cap: Span = Field(600, ge=0, le=604_800)
    host_give_up_probes: int = Field(4, ge=1, le=1_000)
    host_give_up_seconds: Span = Field(3_600, ge=1, le=2_592_000)
    page_max_age: Span = Field(2_592_000, ge=0, le=10**9)
    crawl_cache_ttl: Span = Field(3_600, ge=0, le=10**9)
    result_days: int = Field(30, ge=1, le=36_500)
    run_timeout: Span = Field(900, ge=1, le=604_800)
    sync_timeout: Span = Field(30, ge=0.1, le=600)
    sites_file: str = Field("sites.toml", min_length=1, max_length=1_000)
    schedules_file: str = Field("schedules.toml", min_length=1, max_length=1_000)
    user_agent: HeaderValue = f"curtsy/{__version__} (contact unset: set CURTSY_USER_AGENT)"
    robots: Literal["obey", "ignore"] = "obey"
    crawl_delay_cap: Span = Field(60, ge=0, le=86_400)
    allow_addresses: Networks = ""
    allow_proxies: ProxyAddresses = ""
    log_level: LogLevel = "INFO"
    log_file: str = Field("", max_length=1_000)
    """Empty: to stderr."""
    log_format: Literal["auto", "text", "json"] = "auto"

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - as pydantic calls it
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Flags override the environment, which overrides the file."""
        unprefixed = _Unprefixed(settings_cls, env_prefix="")
        return init_settings, env_settings, unprefixed, TomlConfigSettingsSource(settings_cls)


class _Unprefixed(EnvSettingsSource):
    def __call__(self) -> dict[str, object]:
        return {name: value for name, value in super().__call__().items() if name in UNPREFIXED}
