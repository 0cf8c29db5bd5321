/**
 * A proxy by which a task without this machine's network reaches the Internet: HTTP, and anything by CONNECT, to public
 * addresses alone. This machine, its private networks, other containers and the metadata of clouds are refused, also
 * by a name that resolves to them: what is connected to is the address that was checked.
 */
import { lookup } from "node:dns"
import { createServer, request as ask, type IncomingMessage, type Server } from "node:http"
import { BlockList, connect, isIP, type LookupFunction } from "node:net"
import { networkInterfaces } from "node:os"

const reserved = new BlockList()
for (const [net, bits] of [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["224.0.0.0", 3]
] as const)
  reserved.addSubnet(net, bits, "ipv4")
// Addresses that contain one of IPv4: Teredo and 6to4.
reserved.addSubnet("2001::", 32, "ipv6")
reserved.addSubnet("2002::", 16, "ipv6")

const global = new BlockList()
global.addSubnet("2000::", 3, "ipv6")

/** True of addresses of the Internet that are not this machine's. */
export const isPublic = (address: string): boolean => {
  const isOwn = Object.values(networkInterfaces()).some((all) => all?.some((one) => one.address === address))
  if (isOwn) return false
  return isIP(address) === 4
    ? !reserved.check(address, "ipv4")
    : isIP(address) === 6 && global.check(address, "ipv6") && !reserved.check(address, "ipv6")
}

export interface Target {
  readonly host: string
  readonly port: number
}

export const targetOf = (url: URL): Target => ({
  host: url.hostname.replace(/^\[(.*)\]$/, "$1"),
  port: Number(url.port === "" ? 80 : url.port)
})

/** Headers between a client and its proxy. */
const ofConnection = ["connection", "proxy-connection", "proxy-authorization", "keep-alive", "te", "trailer", "upgrade"]

const forwarded = ({ headers }: IncomingMessage) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !ofConnection.includes(name)))

const refusal = (host: string): string =>
  `atropos: ${host} is not a public address, and this task has the Internet alone (--env.network web)\n`

/** A server for HTTP clients that take it as their proxy. */
export const make = ({
  gateway,
  isAllowed = isPublic
}: {
  /** Reached regardless of its address, for programs that ask the proxy for everything. */
  readonly gateway?: Target | undefined
  readonly isAllowed?: (address: string) => boolean
} = {}): Server => {
  const allowed: LookupFunction = (host, options, callback) =>
    lookup(host, { ...options, all: true }, (error, all) => {
      const [first, ...others] = (all ?? []).filter(({ address }) => isAllowed(address))
      if (error !== null) callback(error, [])
      else if (first === undefined) callback(new Error(refusal(host)), [])
      else if (options.all) callback(null, [first, ...others])
      else callback(null, first.address, first.family)
    })
  /** An address as it is written is looked up by nothing. */
  const isRefused = ({ host, port }: Target): boolean =>
    isIP(host) !== 0 && !isAllowed(host) && !(host === gateway?.host && port === gateway.port)

  const server = createServer((incoming, response) => {
    const url = incoming.url ?? ""
    const target = url.startsWith("http://") && URL.canParse(url) ? targetOf(new URL(url)) : undefined
    const fail = (status: number, text: string) =>
      response.headersSent ? response.destroy() : response.writeHead(status, { "content-type": "text/plain" }).end(text)
    if (target === undefined) return void fail(400, "atropos: this is a proxy: ask for http://HOST/…, or by CONNECT\n")
    if (isRefused(target)) return void fail(403, refusal(target.host))
    const { pathname, search } = new URL(url)
    const outgoing = ask({
      ...target,
      method: incoming.method,
      path: pathname + search,
      headers: forwarded(incoming),
      lookup: allowed,
      agent: false
    })
    outgoing
      .on("response", (answer) => answer.pipe(response.writeHead(answer.statusCode ?? 502, forwarded(answer))))
      .on("error", ({ message }) => fail(message === refusal(target.host) ? 403 : 502, message))
    response.on("close", () => outgoing.destroy())
    incoming.pipe(outgoing)
  })
  return server.on("connect", (incoming, client, head) => {
    const url = `http://${incoming.url ?? ""}`
    const target = URL.canParse(url) ? targetOf(new URL(url)) : undefined
    const fail = (status: string, text: string) => void client.end(`HTTP/1.1 ${status}\r\n\r\n${text}`)
    client.on("error", () => client.destroy())
    if (target === undefined) return fail("400 Bad Request", "")
    if (isRefused(target)) return fail("403 Forbidden", refusal(target.host))
    const remote = connect({ ...target, lookup: allowed, allowHalfOpen: true }, () => {
      client.write("HTTP/1.1 200 Connection established\r\n\r\n")
      remote.write(head)
      client.pipe(remote).pipe(client)
    })
    remote.on("error", ({ message }) => {
      if (remote.bytesRead > 0) client.destroy()
      else fail(message === refusal(target.host) ? "403 Forbidden" : "502 Bad Gateway", message)
    })
    client.on("close", () => remote.destroy())
  })
}

/** What programs read. */
export const variables = (port: number): { readonly [name: string]: string } => {
  const url = `http://127.0.0.1:${port}`
  const direct = "127.0.0.1,localhost"
  return {
    HTTP_PROXY: url,
    http_proxy: url,
    HTTPS_PROXY: url,
    https_proxy: url,
    NO_PROXY: direct,
    no_proxy: direct,
    NODE_USE_ENV_PROXY: "1"
  }
}
