# Neve with its Java and its jars: a container that starts fetches nothing.
#
#   docker build -t neve:0.2.0 .

FROM python:3.11-slim-bookworm AS build
ENV UV_COMPILE_BYTECODE=1 UV_LINK_MODE=copy PIP_NO_CACHE_DIR=1
RUN pip install uv==0.13.7 hatchling==1.33.0
WORKDIR /src
COPY deploy/image/requirements.lock requirements-java.lock ./
RUN uv venv /opt/neve \
 && uv pip install --python /opt/neve/bin/python --require-hashes -r requirements.lock \
 && uv pip install --python /opt/neve/bin/python --require-hashes -r requirements-java.lock
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN python -m hatchling build -t wheel -d /dist \
 && uv pip install --python /opt/neve/bin/python --no-deps /dist/*.whl
ENV NEVE_CACHE=/opt/neve/cache
RUN /opt/neve/bin/python -m neve.spark.fetch_jars \
 && rm -rf /opt/neve/cache/jars/lock /opt/neve/cache/executors/lock

FROM python:3.11-slim-bookworm
RUN groupadd --gid 10001 neve \
 && useradd --uid 10001 --gid 10001 --home-dir /var/lib/neve --create-home neve
COPY --from=build /opt/neve /opt/neve
# The wheel of a JDK lacks a module that Spark asks for; the shim in the cache does not pass it on.
ENV PATH=/opt/neve/bin:$PATH \
    JAVA_HOME=/opt/neve/cache/java-shim-21 \
    NEVE_CACHE=/opt/neve/cache \
    PYTHONUNBUFFERED=1
WORKDIR /var/lib/neve
USER 10001:10001
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s --retries=3 \
  CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8080/health', timeout=2)"]
ENTRYPOINT ["neve"]
CMD ["serve"]
