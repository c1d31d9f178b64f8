# Two images. `--target production` (the default): the gateway and search-core for a real chain, without
# development chain, compiler and tests. `--target development`: all of it, see docker-compose.yml.
# For several architectures: docker buildx build --platform linux/amd64,linux/arm64 .
# Pin this by the digest that you have checked: --build-arg BASE=node@sha256:…
ARG BASE=node:24-bookworm-slim
FROM ${BASE} AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY scripts/steps.mjs scripts/
RUN node -e "import('./scripts/steps.mjs').then((steps) => steps.ensureInstalled())"
COPY . .
RUN npm run build && npm prune --omit=dev --ignore-scripts

FROM ${BASE} AS development
ENV NODE_ENV=production HOST=0.0.0.0 DATA_DIR=/data
WORKDIR /app
COPY --from=build --chown=node:node /app ./
RUN mkdir -m 700 /data && chown node:node /data
USER node
VOLUME /data
EXPOSE 4020 4021 4022
# The operator's port, which no flood of the public one fills.
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:4022/readyz').then(r=>process.exit(r.ok?0:1),()=>process.exit(1))"]
STOPSIGNAL SIGTERM
CMD ["node", "--enable-source-maps", "dist/gateway/main.js"]

FROM build AS slim
RUN node scripts/slim.mjs /slim

FROM ${BASE} AS production
ENV NODE_ENV=production HOST=0.0.0.0 OPS_HOST=0.0.0.0 DATA_DIR=/data
WORKDIR /app
# Not the user's own: the program cannot change itself.
COPY --from=slim /slim ./
RUN mkdir -m 700 /data /backups && chown node:node /data /backups \
  && rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /opt/yarn*
USER node
VOLUME /data
EXPOSE 4020 4021 4022
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:4022/readyz').then(r=>process.exit(r.ok?0:1),()=>process.exit(1))"]
STOPSIGNAL SIGTERM
CMD ["node", "--enable-source-maps", "dist/gateway/main.js"]
