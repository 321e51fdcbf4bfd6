# The command line in a small image: docker build -t privet . && docker run --rm -v "$PWD:/data" privet demo --out demo
FROM python:3.11-slim AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN pip install --no-cache-dir --prefix=/made ".[all]"

FROM python:3.11-slim
COPY --from=build /made /usr/local
# Nobody in particular; compiled loops are kept where that user may write.
RUN useradd --uid 1000 --create-home privet && mkdir /data && chown privet /data
USER privet
ENV NUMBA_CACHE_DIR=/home/privet/.cache/numba
WORKDIR /data
ENTRYPOINT ["privet"]
CMD ["--help"]
