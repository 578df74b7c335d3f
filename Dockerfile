# The demonstration and the studio in a container; docs/install.md has the commands.
FROM python:3.12-slim AS build
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends gcc libc6-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /sources
COPY . .
RUN python -m pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.12-slim
COPY --from=build /wheels /wheels
# The wheel by its path, so that nothing of its name comes from elsewhere; the compiler stays behind.
# hadolint ignore=DL3013
RUN set -- /wheels/deltadyn-*.whl \
    && python -m pip install --no-cache-dir "$1[studio]" \
    && DELTADYN_KERNELS=on deltadyn --version --verbose
RUN useradd --uid 1000 --create-home robot
USER 1000
WORKDIR /home/robot
# For the studio: --publish 127.0.0.1:8080:8080 with `studio --host 0.0.0.0 --no-browser`
EXPOSE 8080
ENTRYPOINT ["deltadyn"]
CMD ["demo", "--out", "demo"]
