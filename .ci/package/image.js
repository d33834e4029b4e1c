#!/usr/bin/env node
// Writes an OCI image into a folder, in the image layout, without a daemon: one layer with
// the program for each machine, and an index of them.
// usage: VERSION=… SOURCE_DATE_EPOCH=… image.js FOLDER MACHINE=LAYER.tar…
const { createHash } = require("node:crypto");
const { mkdirSync, readFileSync, writeFileSync } = require("node:fs");
const { gzipSync } = require("node:zlib");
const [folder, ...layers] = process.argv.slice(2);
const created = new Date(process.env.SOURCE_DATE_EPOCH * 1000).toISOString();
const digest = (data) => "sha256:" + createHash("sha256").update(data).digest("hex");
mkdirSync(`${folder}/blobs/sha256`, { recursive: true });

// blob writes a blob and returns its descriptor.
const blob = (mediaType, data) => {
  const d = { mediaType: `application/vnd.oci.image.${mediaType}`, digest: digest(data), size: data.length };
  writeFileSync(`${folder}/blobs/${d.digest.replace(":", "/")}`, data);
  return d;
};
const json = (mediaType, value) => blob(`${mediaType}+json`, Buffer.from(JSON.stringify(value)));

const manifests = layers.map((layer) => {
  const [machine, file] = layer.split("=");
  const tar = readFileSync(file);
  const config = json("config.v1", {
    created,
    os: "linux",
    architecture: machine,
    config: {
      Entrypoint: ["/usr/bin/textskill"],
      Cmd: ["mcp"],
      Env: ["PATH=/usr/bin:/bin", "SKILL_STATE=/state"],
      WorkingDir: "/workspace",
      Volumes: { "/workspace": {}, "/state": {} },
    },
    rootfs: { type: "layers", diff_ids: [digest(tar)] },
    history: [{ created, created_by: "textskill" }],
  });
  const manifest = json("manifest.v1", {
    schemaVersion: 2,
    mediaType: "application/vnd.oci.image.manifest.v1+json",
    config,
    layers: [blob("layer.v1.tar+gzip", gzipSync(tar, { level: 9 }))],
  });
  return { ...manifest, platform: { os: "linux", architecture: machine } };
});
const index = json("index.v1", { schemaVersion: 2, mediaType: "application/vnd.oci.image.index.v1+json", manifests });
writeFileSync(`${folder}/index.json`, JSON.stringify({
  schemaVersion: 2,
  manifests: [{ ...index, annotations: { "org.opencontainers.image.ref.name": process.env.VERSION } }],
}));
writeFileSync(`${folder}/oci-layout`, JSON.stringify({ imageLayoutVersion: "1.0.0" }));
