/**
 * Parses the address of an OpenEnv server in any common form: `localhost:8000`, `http://…`, `ws://…/ws`, the page of
 * its web interface or documentation, a Space of the Hugging Face hub.
 */
import { Result } from "effect"

export interface Address {
  /** `http://host:port`, with the path under which the server is mounted, without a trailing slash. */
  readonly http: string
  /** The socket: `ws://host:port/ws`. */
  readonly socket: string
}

/** Endpoints below a server's root, as seen in a browser or another client. */
const endpoints = /\/(?:ws|mcp|web|docs|redoc|openapi\.json|health|schema|metadata|reset|step|state)\/*$/

/** A Space's page on the hub; its server has its own host. */
const space = /^\/spaces\/([\w.-]+)\/([\w.-]+)/

const examples = "such as http://localhost:8000, ws://localhost:8000/ws or https://OWNER-NAME.hf.space"

/** The host name that the hub gives a Space. */
const spaceHost = (owner: string, name: string): string =>
  `${`${owner}/${name}`.toLowerCase().replaceAll(/[^a-z0-9]/g, "-")}.hf.space`

const withoutSlashes = (path: string): string => {
  let end = path.length
  while (end > 0 && path[end - 1] === "/") end--
  return path.slice(0, end)
}

/** The address in a text; a failure states what is wrong with it. */
export const parse = (input: string): Result.Result<Address, string> => {
  const text = input.trim()
  if (text === "") return Result.fail(`no address: set the URL of an OpenEnv server with --env.url, ${examples}`)
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(text)?.[1]?.toLowerCase()
  if (scheme !== undefined && !["http", "https", "ws", "wss"].includes(scheme)) {
    return Result.fail(`${JSON.stringify(input)} begins with ${scheme}://: use http, https, ws or wss, ${examples}`)
  }
  // It would be read as an IPv4 address in one number.
  if (/^:?\d+$/.test(text)) {
    return Result.fail(
      `${JSON.stringify(input)} has no host: for a port of this machine use localhost:${text.replace(":", "")}`
    )
  }
  const url = URL.parse(scheme === undefined ? `http://${text}` : text)
  if (url === null || url.hostname === "") {
    return Result.fail(`${JSON.stringify(input)} is not a URL of a server: use one ${examples}`)
  }
  if (url.username !== "" || url.password !== "") {
    return Result.fail("the URL contains a name or a password: remove them, and set a token in OPENENV_TOKEN")
  }
  const isHub = /^(?:www\.)?(?:huggingface\.co|hf\.co)$/.test(url.hostname)
  const [, owner, name] = space.exec(url.pathname) ?? []
  if (isHub && (owner === undefined || name === undefined)) {
    return Result.fail(`${JSON.stringify(input)} is not a Space: use https://huggingface.co/spaces/OWNER/NAME`)
  }
  const isSafe = isHub || url.protocol === "https:" || url.protocol === "wss:"
  const host = isHub ? spaceHost(owner!, name!) : url.host
  const path = isHub ? "" : withoutSlashes(withoutSlashes(url.pathname).replace(endpoints, ""))
  return Result.succeed({
    http: `${isSafe ? "https" : "http"}://${host}${path}`,
    socket: `${isSafe ? "wss" : "ws"}://${host}${path}/ws`
  })
}
