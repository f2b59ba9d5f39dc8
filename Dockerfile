# siamese-cbow serve in a container:
#
#   docker build -t siamese-cbow .
#   docker run --rm -p 8080:8080 siamese-cbow                                     the pretrained model
#   docker run --rm -p 8080:8080 -v "$PWD/models:/models:ro" siamese-cbow serve /models/mine --host 0.0.0.0
FROM python:3.12-slim AS build
WORKDIR /build
COPY pyproject.toml README.md LICENSE constraints.txt ./
COPY src ./src
RUN pip install --no-cache-dir --prefix /install --constraint constraints.txt '.[serve]'

FROM python:3.12-slim
COPY --from=build /install /usr/local
# Kernels are compiled on first use; in a volume they survive the container.
ENV NUMBA_CACHE_DIR=/var/cache/siamese-cbow
RUN useradd --create-home serve && mkdir --parents /var/cache/siamese-cbow && chown serve /var/cache/siamese-cbow
USER serve
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8080/health')"]
ENTRYPOINT ["siamese-cbow"]
CMD ["serve", "--host", "0.0.0.0"]
