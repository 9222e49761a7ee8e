"""Every setting with its default and bounds; docs/reference/settings.md describes each."""

import os
from collections.abc import Mapping
from typing import Annotated, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic.fields import FieldInfo
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
    worker_memory,
    worker_processes,
)
from curtsy.env_file import FILE as FILE_OF_VARIABLES
from curtsy.env_file import EnvFileUnreadable, read_env_file
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
WorkerMemory = Annotated[Literal["auto"] | int, BeforeValidator(worker_memory)]
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
    worker_memory_bytes: WorkerMemory = "auto"
    """Of each worker process, with the processes that run its scrapers."""
    extract_processes: int = Field(os.cpu_count() or 1, ge=1, le=1_000)
    extract_seconds: Span = Field(20, ge=0.1, le=600)
    extract_memory_bytes: int = Field(512 * 2**20, ge=64 * 2**20, le=64 * 2**30)
    extract_child_pages: int = Field(500, ge=1, le=1_000_000)
    extract_child_seconds: Span = Field(3_600, ge=1, le=2_592_000)
    extract_child_bytes: int = Field(384 * 2**20, ge=2**20, le=64 * 2**30)
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
    disk_low_bytes: int = Field(2 * 2**30, ge=0, le=2**50)
    """0: no cleanup is run early."""
    disk_reserve_bytes: int = Field(64 * 2**20, ge=0, le=2**50)
    run_timeout: Span = Field(900, ge=1, le=604_800)
    spider_soft_limit: Span = Field(3_300, ge=1, le=604_800)
    """Of one run of a spider on Scrapyd, as the next."""
    spider_hard_limit: Span = Field(3_600, ge=1, le=604_800)
    sync_timeout: Span = Field(30, ge=0.1, le=600)
    sites_file: str = Field("sites.toml", min_length=1, max_length=1_000)
    schedules_file: str = Field("schedules.toml", min_length=1, max_length=1_000)
    alerts_file: str = Field("alerts.toml", min_length=1, max_length=1_000)
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
        """Flags override the environment, which overrides `.env`, which overrides the file."""
        unprefixed = _Unprefixed(settings_cls, env_prefix="")
        env_file, toml = _EnvFile(settings_cls), TomlConfigSettingsSource(settings_cls)
        return init_settings, env_settings, unprefixed, env_file, toml


class _Unprefixed(EnvSettingsSource):
    def __call__(self) -> dict[str, object]:
        return {name: value for name, value in super().__call__().items() if name in UNPREFIXED}


class _EnvFile(PydanticBaseSettingsSource):
    """Reads `.env` as the environment is read; its other variables have no effect. A wrong line
    that begins with the name of a setting stops the program: it might use another database."""

    def __call__(self) -> dict[str, object]:
        file = read_env_file()
        given = file.variables
        for name in Settings.model_fields:
            if wrong := variable_of(name, {one: one for one in file.wrong_names}):
                raise EnvFileUnreadable(
                    f"Line {file.wrong_names[wrong]} of {FILE_OF_VARIABLES} begins with {wrong}, "
                    "but is not NAME=value in one line of UTF-8 text: the setting would be lost."
                )
        names = {name: variable_of(name, given) for name in Settings.model_fields}
        return {name: given[variable] for name, variable in names.items() if variable}

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[object, str, bool]:
        raise NotImplementedError("the whole file is read at once")


def variable_of(name: str, given: Mapping[str, str]) -> str | None:
    """Returns the variable that sets it, in the spelling of its place; None if none does, or only
    an empty one."""
    spelled = {variable.upper(): variable for variable in given}
    candidates = [f"{PREFIX}{name.upper()}", *([name.upper()] if name in UNPREFIXED else [])]
    for candidate in candidates:
        if given.get(spelled.get(candidate, "")):
            return spelled[candidate]
    return None
