# mnemic as a server: `docker build -t mnemic .`; see docs/how-to/install.md.
# Everything is installed while the image is built: nothing is downloaded at run time.

FROM python:3.13-slim AS build
WORKDIR /src
COPY . .
RUN python -m venv /venv \
 && /venv/bin/pip install --no-cache-dir ".[crypto,http,mcp,postgres]" \
 && /venv/bin/python -m compileall -q /venv/lib

FROM python:3.13-slim
RUN useradd --system --uid 10001 --home-dir /data --shell /usr/sbin/nologin mnemic \
 && install --directory --owner mnemic --group mnemic --mode 0700 /data
COPY --from=build /venv /venv
ENV PATH=/venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    MNEMIC_DB=/data/memory.db
USER mnemic
WORKDIR /data
VOLUME ["/data"]
EXPOSE 8377
# The image has no curl; a server that answers is alive, see docs/http.md.
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s --retries=3 \
  CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8377/healthz', timeout=4)"]
ENTRYPOINT ["mnemic"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8377", "--token-file", "/data/tokens"]
