/**
 * Loaded into a program before all else (`node --import`): ends it by SIGKILL at the moment that `KillMoment.variable`
 * names. It watches from the edge of the process: requests that it answers or makes, files that it renames.
 */
import { subscribe } from "node:diagnostics_channel"
import fs from "node:fs"
import type { IncomingMessage, ServerResponse } from "node:http"
import { syncBuiltinESMExports } from "node:module"
import * as KillMoment from "./KillMoment.ts"

const { nth = 1, of, what, when } = KillMoment.decode(process.env[KillMoment.variable] ?? "")
let left = nth

/** Ends the process where this is the moment. */
const pass = (at: KillMoment.When, text: string): void => {
  if (at === when && what.test(text) && --left === 0) process.kill(process.pid, "SIGKILL")
}

switch (of) {
  case "answered":
    subscribe("http.server.request.start", (message) => {
      const { request, response } = message as { readonly request: IncomingMessage; readonly response: ServerResponse }
      const text = `${request.method} ${request.url}`
      const writeHead = response.writeHead.bind(response) as (...head: ReadonlyArray<unknown>) => ServerResponse
      response.writeHead = (...head: ReadonlyArray<unknown>) => {
        pass("before", text)
        return writeHead(...head)
      }
      response.once("finish", () => pass("after", text))
    })
    break
  case "asked": {
    interface Request {
      readonly method: string
      readonly path: string
    }
    const on = (channel: string, at: KillMoment.When) =>
      subscribe(channel, (message) => {
        const { method, path } = (message as { readonly request: Request }).request
        pass(at, `${method} ${path}`)
      })
    on("undici:request:create", "before")
    on("undici:request:headers", "after")
    break
  }
  case "renamed": {
    const { rename } = fs
    const passing = (from: fs.PathLike, to: fs.PathLike, done: fs.NoParamCallback): void => {
      pass("before", String(to))
      rename(from, to, (error) => {
        if (error === null) pass("after", String(to))
        done(error)
      })
    }
    fs.rename = Object.assign(passing, rename)
    syncBuiltinESMExports()
  }
}
