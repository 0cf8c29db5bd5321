/**
 * Sends the requests of E2B's API that a task needs: sandboxes at the platform, files and processes at a sandbox.
 *
 * The key and the addresses are E2B's own variables (`E2B_API_KEY`, `E2B_DOMAIN`, `E2B_API_URL`, `E2B_SANDBOX_URL`), so
 * that servers with the same API can be named too. Requests that create nothing are repeated when the network or the
 * server fails. Source: `spec/openapi.yml` and `spec/envd` of https://github.com/e2b-dev/E2B.
 */
import * as AnswerBody from "@atropos/core/inference/wire/AnswerBody"
import { Config, type Duration, Effect, Option, Redacted, Schedule, Schema, Stream } from "effect"
import { HttpClient, HttpClientRequest, type HttpClientResponse } from "effect/http"
import { HarborError } from "../HarborError.ts"
import * as Connect from "./Connect.ts"

export interface Account {
  readonly key: Redacted.Redacted
  readonly platform: string
  readonly sandboxes: string
}

/** The account of this process's variables. */
export const account = Effect.gen(function* () {
  const key = yield* Config.option(Config.Redacted("E2B_API_KEY"))
  if (Option.isNone(key)) {
    return yield* new HarborError({ message: "--env.where e2b needs the key of an account: set E2B_API_KEY" })
  }
  const domain = yield* Config.withDefault(Config.String("E2B_DOMAIN"), "e2b.app")
  return {
    key: key.value,
    platform: yield* Config.withDefault(Config.String("E2B_API_URL"), `https://api.${domain}`),
    sandboxes: yield* Config.withDefault(Config.String("E2B_SANDBOX_URL"), `https://sandbox.${domain}`)
  } satisfies Account
}).pipe(Effect.catchTag("ConfigError", ({ message }) => Effect.fail(new HarborError({ message }))))

const Created = Schema.Struct({
  sandboxID: Schema.NonEmptyString,
  envdAccessToken: Schema.optionalKey(Schema.NullOr(Schema.String))
})
export type Created = typeof Created.Type

export interface NewSandbox {
  readonly templateID: string
  /** Seconds until it ends, unless extended. */
  readonly timeout: number
  readonly secure: boolean
  readonly allow_internet_access: boolean
  readonly metadata: { readonly [name: string]: string }
}

/** Port of the service in a sandbox that has its files and processes. */
const port = "49983"

/** Files beyond this are refused rather than held in memory. */
const maxFile = 512 * 2 ** 20

const requestTime: Duration.Input = "2 minutes"
const retries = {
  times: 4,
  schedule: Schedule.jittered(Schedule.exponential("200 millis"))
}

/** A failure that may not occur again. */
class Transient extends Schema.TaggedError<Transient>()("Transient", { message: Schema.String }) {}

const isTransient = (status: number): boolean => status === 429 || status >= 500

/** The message of an error in E2B's form, else the beginning of the body. */
const messageOf = (body: string): string => /"message"\s*:\s*"((?:[^"\\]|\\.)*)"/.exec(body)?.[1] ?? body.slice(0, 300)

const refusalOf = ({ status, stream }: HttpClientResponse.HttpClientResponse) =>
  Effect.map(AnswerBody.read(status, stream), (bytes) => messageOf(new TextDecoder().decode(bytes)))

const missing = (what: string) => Effect.fail(new HarborError({ message: `${what}: 404 not found` }))

/** `isRepeatable` false: a request without an answer may have had its effect. */
const asking =
  (client: HttpClient.HttpClient) =>
  <A>(
    what: string,
    request: HttpClientRequest.HttpClientRequest,
    read: (response: HttpClientResponse.HttpClientResponse) => Effect.Effect<A, { readonly message: string }>,
    isRepeatable = true
  ): Effect.Effect<A, HarborError> =>
    Effect.gen(function* () {
      const response = yield* client.execute(request)
      const { status } = response
      if (status < 300 || status === 404) return yield* read(response)
      const message = `${status} ${yield* refusalOf(response)}`
      return yield* isTransient(status)
        ? new Transient({ message })
        : new HarborError({ message: `${what}: ${message}` })
    }).pipe(
      Effect.timeout(requestTime),
      Effect.mapError((error) =>
        error instanceof HarborError || error instanceof Transient ? error : new Transient({ message: error.message })
      ),
      Effect.retry({ ...retries, while: (error) => isRepeatable && error instanceof Transient }),
      Effect.mapError((error) =>
        error instanceof HarborError ? error : new HarborError({ message: `${what}: ${error.message}`, cause: error })
      )
    )

/** Sandboxes themselves. */
const atPlatform = (client: HttpClient.HttpClient, { key, platform }: Account) => {
  const ask = asking(client)
  const withKey = (request: HttpClientRequest.HttpClientRequest) =>
    HttpClientRequest.setHeader(request, "X-API-Key", Redacted.value(key))
  const path = (id: string) => `${platform}/sandboxes/${encodeURIComponent(id)}`
  return {
    create: (sandbox: NewSandbox): Effect.Effect<Created, HarborError> => {
      const what = `E2B starts no sandbox of the template ${sandbox.templateID}`
      const request = HttpClientRequest.bodyJsonUnsafe(HttpClientRequest.post(`${platform}/sandboxes`), sandbox)
      return ask(
        what,
        withKey(request),
        (response) =>
          response.status === 404 ? missing(what) : Effect.flatMap(response.json, Schema.decodeUnknownEffect(Created)),
        false
      )
    },
    /** Ends a sandbox; one that has ended already is fine. */
    kill: (id: string) =>
      ask(`cannot end the sandbox ${id}`, withKey(HttpClientRequest.delete(path(id))), () => Effect.void),
    /** Sets the time that is left; false if the sandbox has ended. */
    extend: (id: string, seconds: number) =>
      ask(
        `cannot extend the sandbox ${id}`,
        withKey(HttpClientRequest.bodyJsonUnsafe(HttpClientRequest.post(`${path(id)}/timeout`), { timeout: seconds })),
        ({ status }) => Effect.succeed(status !== 404)
      )
  }
}

/** A sandbox's files and processes. */
const inSandbox = (client: HttpClient.HttpClient, { sandboxes }: Account) => {
  const ask = asking(client)
  const withToken = (
    { envdAccessToken, sandboxID }: Created,
    request: HttpClientRequest.HttpClientRequest,
    user: string
  ) =>
    request.pipe(
      HttpClientRequest.setHeaders({
        "E2b-Sandbox-Id": sandboxID,
        "E2b-Sandbox-Port": port,
        ...(typeof envdAccessToken === "string" && { "X-Access-Token": envdAccessToken })
      }),
      HttpClientRequest.basicAuth(user, "")
    )
  const file = (path: string, user: string) =>
    `${sandboxes}/files?${new URLSearchParams({ path, username: user }).toString()}`
  return {
    /** Writes a file and its missing parents. */
    write: (sandbox: Created, path: string, bytes: Uint8Array, user: string) => {
      const form = new FormData()
      form.append("file", new Blob([Buffer.from(bytes)]), "file")
      const what = `cannot write ${path} in a sandbox`
      const request = HttpClientRequest.bodyFormData(HttpClientRequest.post(file(path, user)), form)
      return ask(what, withToken(sandbox, request, user), ({ status }) =>
        status === 404 ? missing(what) : Effect.void
      )
    },
    /** The content of a file; None if missing. */
    read: (sandbox: Created, path: string, user: string) => {
      const what = `cannot read ${path} in a sandbox`
      return ask(what, withToken(sandbox, HttpClientRequest.get(file(path, user)), user), (response) =>
        response.status === 404
          ? Effect.succeedNone
          : AnswerBody.read(response.status, response.stream, maxFile).pipe(
              Effect.mapError((error) =>
                error instanceof AnswerBody.Unacceptable
                  ? new HarborError({ message: `${what}: it has more than ${maxFile} bytes` })
                  : error
              ),
              Effect.asSome
            )
      )
    },
    /** Starts a process, as messages of its start, output and end. */
    start: (sandbox: Created, process: object, user: string): Stream.Stream<unknown, HarborError> => {
      const request = HttpClientRequest.post(`${sandboxes}/process.Process/Start`).pipe(
        HttpClientRequest.setHeaders({ "Connect-Protocol-Version": "1", "Keepalive-Ping-Interval": "50" }),
        HttpClientRequest.bodyUint8Array(Connect.envelope({ process, stdin: false }), "application/connect+json")
      )
      const failed = (message: string, cause?: unknown) =>
        new HarborError({ message: `cannot run a command in the sandbox ${sandbox.sandboxID}: ${message}`, cause })
      const answered = Effect.gen(function* () {
        const response = yield* client.execute(withToken(sandbox, request, user))
        if (response.status === 200) return Connect.messages(response.stream)
        return yield* failed(`${response.status} ${yield* refusalOf(response)}`)
      })
      return Stream.unwrap(answered).pipe(
        Stream.mapError((error) => (error instanceof HarborError ? error : failed(error.message, error)))
      )
    },
    /** Ends a process immediately. */
    end: (sandbox: Created, pid: number, user: string) => {
      const request = HttpClientRequest.post(`${sandboxes}/process.Process/SendSignal`).pipe(
        HttpClientRequest.setHeader("Connect-Protocol-Version", "1"),
        HttpClientRequest.bodyJsonUnsafe({ process: { pid }, signal: "SIGNAL_SIGKILL" })
      )
      return ask("cannot end a command in a sandbox", withToken(sandbox, request, user), () => Effect.void)
    }
  }
}

export const make = (account: Account) =>
  Effect.map(HttpClient.HttpClient, (client) => ({ ...atPlatform(client, account), ...inSandbox(client, account) }))

export type Api = Effect.Success<ReturnType<typeof make>>
