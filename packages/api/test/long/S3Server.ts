/**
 * A strict stand-in for an S3 server, from AWS's documents: it computes signatures of version 4, checks digests against
 * bodies, and rejects as S3 does. One account, one bucket; objects are in memory.
 */
import { Effect } from "effect"
import { createHash, createHmac } from "node:crypto"
import { once } from "node:events"
import { createServer, type IncomingMessage, type Server } from "node:http"
import type { AddressInfo } from "node:net"

export const accessKeyId = "a-key"
export const secretAccessKey = "its-secret"
const bucket = "rollouts"

const sha256 = (bytes: Uint8Array | string) => createHash("sha256").update(bytes).digest("hex")
const hmac = (key: Uint8Array | string, text: string) => createHmac("sha256", key).update(text).digest()

interface Refusal {
  readonly status: number
  readonly code: string
}

const authorization =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8}\/[^/]+\/s3\/aws4_request), SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})$/

const encoded = (text: string) =>
  encodeURIComponent(text).replaceAll(/[!'()*]/g, (mark) => `%${mark.codePointAt(0)!.toString(16).toUpperCase()}`)

const refused = (code: string): Refusal => ({ status: 403, code })

/** The fault of the request's signature or digest; undefined if both are valid. */
const refusalOf = (request: IncomingMessage, url: URL, body: Uint8Array): Refusal | undefined => {
  const [, key, scope, signedHeaders, signature] = authorization.exec(request.headers.authorization ?? "") ?? []
  if (scope === undefined || signedHeaders === undefined) return refused("AccessDenied")
  if (key !== accessKeyId) return refused("InvalidAccessKeyId")
  const names = signedHeaders.split(";")
  const date = String(request.headers["x-amz-date"])
  const millis = Date.parse(date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, "$1-$2-$3T$4:$5:$6Z"))
  if (!(Math.abs(millis - Date.now()) < 900_000)) return refused("RequestTimeTooSkewed")
  if (!["host", "x-amz-date", "x-amz-content-sha256"].every((name) => names.includes(name))) {
    return refused("AccessDenied")
  }
  const query = [...url.searchParams]
    .map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
    .toSorted()
    .join("&")
  const digest = String(request.headers["x-amz-content-sha256"])
  const canonical = [
    request.method,
    url.pathname,
    query,
    ...names.map((name) => `${name}:${String(request.headers[name]).trim()}`),
    "",
    signedHeaders,
    digest
  ].join("\n")
  const signing = scope.split("/").reduce<Uint8Array | string>(hmac, `AWS4${secretAccessKey}`)
  const text = ["AWS4-HMAC-SHA256", date, scope, sha256(canonical)].join("\n")
  if (hmac(signing, text).toString("hex") !== signature) return refused("SignatureDoesNotMatch")
  return digest === sha256(body) ? undefined : { status: 400, code: "XAmzContentSHA256Mismatch" }
}

const escaped = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;")

const listed = (objects: ReadonlyMap<string, Uint8Array>, query: URLSearchParams) => {
  const [prefix, after, most] = [
    query.get("prefix") ?? "",
    query.get("start-after") ?? "",
    Number(query.get("max-keys") ?? 1000)
  ]
  const keys = [...objects.keys()].filter((key) => key.startsWith(prefix) && key > after).toSorted()
  const contents = keys.slice(0, most).map((key) => `<Contents><Key>${escaped(key)}</Key></Contents>`)
  return `<?xml version="1.0"?><ListBucketResult><IsTruncated>${keys.length > most}</IsTruncated>${contents.join("")}</ListBucketResult>`
}

const listening = async (objects: Map<string, Uint8Array>, port: number): Promise<Server> => {
  const server = createServer((request, response) => {
    const parts: Array<Buffer> = []
    request.on("data", (part: Buffer) => parts.push(part))
    request.on("end", () => {
      const body = Buffer.concat(parts)
      const url = new URL(request.url!, `http://${request.headers.host}`)
      const [, named, ...rest] = url.pathname.split("/")
      const key = decodeURIComponent(rest.join("/"))
      const refuse = ({ code, status }: Refusal) =>
        response.writeHead(status).end(`<Error><Code>${code}</Code><Message>refused</Message></Error>`)
      const refusal = refusalOf(request, url, body)
      if (refusal !== undefined) return refuse(refusal)
      if (named !== bucket) return refuse({ status: 404, code: "NoSuchBucket" })
      if (request.method === "PUT") {
        objects.set(key, body)
        return response.writeHead(200).end()
      }
      if (request.method === "DELETE") {
        objects.delete(key)
        return response.writeHead(204).end()
      }
      if (key === "") return response.writeHead(200).end(listed(objects, url.searchParams))
      const found = objects.get(key)
      return found === undefined ? refuse({ status: 404, code: "NoSuchKey" }) : response.writeHead(200).end(found)
    })
  }).listen(port, "127.0.0.1")
  await once(server, "listening")
  return server
}

/** A server with a bucket; `stop` ends it, and `again` restarts it on the same port with its data. */
export const make = Effect.gen(function* () {
  const objects = new Map<string, Uint8Array>()
  let server = yield* Effect.promise(() => listening(objects, 0))
  const { port } = server.address() as AddressInfo
  const stop = Effect.promise(async () => {
    if (!server.listening) return
    server.closeAllConnections()
    server.close()
    await once(server, "close")
  })
  yield* Effect.addFinalizer(() => stop)
  return {
    url: new URL(`http://127.0.0.1:${port}/${bucket}/groups`),
    objects,
    stop,
    again: Effect.promise(async () => {
      server = await listening(objects, port)
    })
  }
})
