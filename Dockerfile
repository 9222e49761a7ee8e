# One image for every part of curtsy: `docker run IMAGE up`, `api`, `worker`, `scheduler`, …
# See docs/how-to/deploy.md. To build the same image again later, pin the base by its digest.
FROM python:3.11-slim AS build

WORKDIR /source
# The environment of the final image has no pip; that of the build fills it.
RUN ["python", "-m", "venv", "--without-pip", "/opt/curtsy"]
COPY requirements-build.txt requirements.txt ./
RUN ["pip", "install", "--no-cache-dir", "--require-hashes", "--only-binary=:all:", \
     "--requirement=requirements-build.txt"]
RUN ["pip", "--python=/opt/curtsy/bin/python", "install", "--no-cache-dir", "--require-hashes", \
     "--only-binary=:all:", "--requirement=requirements.txt"]
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN ["pip", "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir=/wheels", "."]
RUN ["pip", "--python=/opt/curtsy/bin/python", "install", "--no-deps", "--no-index", \
     "--find-links=/wheels", "curtsy"]

FROM python:3.11-slim

# The user has fixed numbers, so that folders of the host can be given to it, and owns its folder:
# a new volume there gets the owner of the folder. Nothing changes owners when a container starts.
RUN ["groupadd", "--gid=10001", "curtsy"]
RUN ["useradd", "--uid=10001", "--gid=10001", "--home-dir=/data", "--no-create-home", \
     "--shell=/usr/sbin/nologin", "curtsy"]
RUN ["install", "--directory", "--owner=10001", "--group=10001", "--mode=0700", "/data"]
COPY --from=build /opt/curtsy /opt/curtsy

# In a container the API is reached from outside, so it asks for keys (docs/how-to/keys.md) unless
# CURTSY_OPEN_ACCESS is on.
ENV PATH=/opt/curtsy/bin:/usr/local/bin:/usr/bin:/bin \
    CURTSY_API_HOST=0.0.0.0
USER 10001:10001
# The database of `up`, .env, curtsy.toml, sources.toml, … are looked for here.
WORKDIR /data
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=30s --start-period=60s CMD ["curtsy", "health", "--ready"]
ENTRYPOINT ["curtsy"]
CMD ["up"]
