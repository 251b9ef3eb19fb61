# docker build --tag tools .
# docker run --read-only --cap-drop ALL --volume tools:/app/data --publish 3000:3000 tools
ARG DENO=2.9.6

FROM denoland/deno:${DENO} AS build
WORKDIR /app
COPY . .
# --build-arg POSTGRES=yes for a KV_PATH that is a postgres:// address.
ARG POSTGRES=
RUN deno task --quiet ts bundle && mkdir -p data cache
RUN [ -z "${POSTGRES}" ] || deno task --quiet ts bundle --postgres
# What Deno works out at a first start is kept, so that a container starts in
# half the time. It can be read in a read-only container after a second start.
RUN for start in 1 2; do \
      DENO_DIR=/app/cache KV_PATH=/tmp/tools.db timeout --signal=KILL 5 \
        deno run --quiet --no-lock --allow-all dist/main.js; \
    done; true

# No shell and no package manager: Deno, the bundle, and the permissions in its
# deno.json.
FROM denoland/deno:distroless-${DENO}
WORKDIR /app
COPY --from=build /app/dist/permissions.json deno.json
COPY --from=build /app/dist dist
COPY --from=build --chown=65532:65532 /app/cache cache
COPY --from=build --chown=65532:65532 /app/data data
ENV HOST=0.0.0.0 KV_PATH=data/tools.db DENO_DIR=/app/cache DENO_NO_UPDATE_CHECK=1
# Deno's client of denokv would print a line for each try while that is away.
ENV DENO_LOG=error,denokv_remote=off
# For when OTEL_DENO=true is set: malformed baggage, a collector that hangs or a
# reader of stdout that stalls would hold up the process.
ENV OTEL_PROPAGATORS=tracecontext OTEL_EXPORTER_OTLP_TIMEOUT=1000 OTEL_DENO_CONSOLE=ignore
VOLUME /app/data
EXPOSE 3000
USER 65532:65532
# A company's proxy, in HTTP_PROXY, has no business between the two.
HEALTHCHECK --interval=10s --timeout=5s --start-period=10s CMD ["/bin/deno", "eval", "Deno.env.set('NO_PROXY', '127.0.0.1'); const { ok } = await fetch(`http://127.0.0.1:${Deno.env.get('PORT') ?? 3000}/health`); Deno.exit(ok ? 0 : 1)"]
CMD ["run", "--quiet", "--cached-only", "--no-lock", "-P", "--no-prompt", "dist/main.js"]
