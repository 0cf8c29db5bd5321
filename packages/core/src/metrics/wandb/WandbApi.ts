/**
 * The requests to a Weights & Biases server: the key's user, the run, its files, and its rows as lines of a file
 * stream.
 *
 * Lines have offsets, so that a request whose answer was lost can be repeated: the same lines at the same position. The
 * names are the server's own (GraphQL `upsertBucket`, `createRunFiles`, `POST
 * /files/<entity>/<project>/<run>/file_stream`), modelled on the Python client's requests. The key is only sent in the
 * Authorization header; requests are not traced.
 */
import { Clock, type Duration, Effect, Redacted, Schema } from "effect"
import { HttpClient, type HttpClientError, HttpClientRequest, type HttpClientResponse } from "effect/http"
import * as Reason from "../../base/Reason.ts"
import * as RetryAfter from "../../http/RetryAfter.ts"

/** A failure of the server or the connection. */
export class WandbError extends Schema.TaggedError<WandbError>()("WandbError", {
  /** `passing`: retry; `refused`: this request is invalid; `final`: the key, the user or the project is. */
  reason: Schema.Literals(["passing", "refused", "final"]),
  message: Schema.String,
  retryAfterMillis: Schema.optionalKey(Schema.Finite),
  cause: Schema.optionalKey(Schema.Defect())
}) {}

export interface RunRef {
  readonly entity: string
  readonly project: string
  readonly run: string
}

export interface RunSpec {
  readonly id: string
  readonly project: string
  readonly entity: string | null
  readonly group: string | null
  readonly name: string | null
  readonly jobType: string
  readonly host: string
  readonly config: { readonly [name: string]: unknown }
}

export interface Lines {
  readonly offset: number
  readonly content: ReadonlyArray<string>
}

export interface StreamRequest {
  readonly files?: { readonly [name: string]: Lines }
  readonly uploaded?: ReadonlyArray<string>
  readonly complete?: boolean
  readonly exitcode?: number
}

export interface WandbApi {
  /** Creates or finds the run; returns `isNew` and its number of history lines. */
  readonly upsertRun: (
    run: RunSpec
  ) => Effect.Effect<RunRef & { readonly isNew: boolean; readonly lines: number }, WandbError>
  /** The newest step of an existing run; undefined if nothing was recorded. */
  readonly lastStep: (place: RunRef) => Effect.Effect<number | undefined, WandbError>
  readonly upload: (place: RunRef, name: string, bytes: Uint8Array) => Effect.Effect<void, WandbError>
  readonly stream: (place: RunRef, request: StreamRequest) => Effect.Effect<void, WandbError>
}

export interface Options {
  /** `https://api.wandb.ai`, or a self-hosted server. */
  readonly baseUrl: string
  readonly apiKey: Redacted.Redacted
  /** Per request. Default 30 seconds. */
  readonly timeout?: Duration.Input
}

/** Statuses after which a retry is useless (409 and 410: the run is gone). */
const refusals: ReadonlySet<number> = new Set([400, 404, 405, 409, 410, 411, 413, 414, 415, 422])
const denials: { readonly [status: number]: string } = {
  401: "invalid API key: check WANDB_API_KEY, and WANDB_BASE_URL for your own server",
  403: "the key lacks permission: check wandb_entity and wandb_project"
}

const excerpt = (text: string): string => {
  const line = text.replaceAll(/\s+/g, " ").trim()
  return line.length > 200 ? `${line.slice(0, 200)}…` : line
}

const Errors = Schema.Struct({
  errors: Schema.optionalKey(Schema.NullOr(Schema.Array(Schema.Struct({ message: Schema.String })))),
  data: Schema.optionalKey(Schema.Unknown)
})
const decodeErrors = Schema.decodeUnknownEffect(Schema.fromJsonString(Errors))

const Viewer = Schema.Struct({ viewer: Schema.NullOr(Schema.Struct({ entity: Schema.NullOr(Schema.String) })) })
const Upserted = Schema.Struct({
  upsertBucket: Schema.Struct({
    inserted: Schema.NullOr(Schema.Boolean),
    bucket: Schema.Struct({
      name: Schema.String,
      historyLineCount: Schema.optionalKey(Schema.NullOr(Schema.Int)),
      project: Schema.Struct({ name: Schema.String, entity: Schema.Struct({ name: Schema.String }) })
    })
  })
})
const Status = Schema.Struct({
  model: Schema.NullOr(
    Schema.Struct({ bucket: Schema.NullOr(Schema.Struct({ historyTail: Schema.NullOr(Schema.String) })) })
  )
})
const Created = Schema.Struct({
  createRunFiles: Schema.Struct({
    uploadHeaders: Schema.NullOr(Schema.Array(Schema.String)),
    files: Schema.Array(Schema.Struct({ name: Schema.String, uploadUrl: Schema.String }))
  })
})

const queries = {
  viewer: "query Viewer { viewer { entity } }",
  upsert: `mutation UpsertBucket($name: String!, $project: String, $entity: String, $group: String, $displayName: String,
    $jobType: String, $host: String, $config: JSONString) {
    upsertBucket(input: { name: $name, modelName: $project, entityName: $entity, groupName: $group,
      displayName: $displayName, jobType: $jobType, host: $host, config: $config }) {
      inserted bucket { name historyLineCount project { name entity { name } } } } }`,
  status: `query RunResumeStatus($entity: String!, $project: String!, $name: String!) {
    model(name: $project, entityName: $entity) { bucket(name: $name, missingOk: true) { historyTail } } }`,
  createFiles: `mutation CreateRunFiles($entity: String!, $project: String!, $run: String!, $files: [String!]!) {
    createRunFiles(input: { entityName: $entity, projectName: $project, runName: $run, files: $files }) {
      uploadHeaders files { name uploadUrl } } }`
} as const

const LastRow = Schema.fromJsonString(Schema.Array(Schema.fromJsonString(Schema.Struct({ _step: Schema.Finite }))))
const decodeTail = Schema.decodeUnknownOption(LastRow)

/** A client of one server with one key. */
export const make = Effect.fnUntraced(function* ({ apiKey, baseUrl, timeout = "30 seconds" }: Options) {
  const client = yield* HttpClient.HttpClient
  const base = baseUrl.replace(/(?<!\/)\/+$/, "")

  const failed = (where: string) => (error: HttpClientError.HttpClientError) =>
    new WandbError({
      reason: error.reason._tag === "InvalidUrlError" || error.reason._tag === "EncodeError" ? "final" : "passing",
      message: `${where}: ${Reason.root(error)}`
    })

  const check = (where: string, response: HttpClientResponse.HttpClientResponse) =>
    Effect.gen(function* () {
      const text = yield* Effect.mapError(response.text, failed(where))
      const { status } = response
      if (status >= 200 && status < 300) return text
      const denial = denials[status]
      const wait = RetryAfter.millis(response.headers["retry-after"], yield* Clock.currentTimeMillis)
      return yield* new WandbError({
        reason: denial !== undefined ? "final" : refusals.has(status) ? "refused" : "passing",
        message: `${where} answered ${status}: ${denial ?? excerpt(text)}`,
        ...(wait !== undefined && { retryAfterMillis: wait })
      })
    })

  const send = (where: string, request: HttpClientRequest.HttpClientRequest) =>
    client.execute(request).pipe(
      Effect.mapError(failed(where)),
      Effect.flatMap((response) => check(where, response)),
      Effect.timeoutOrElse({
        duration: timeout,
        orElse: () => Effect.fail(new WandbError({ reason: "passing", message: `${where}: no answer in time` }))
      }),
      Effect.withTracerEnabled(false)
    )

  const post = (path: string, body: unknown) =>
    HttpClientRequest.post(`${base}${path}`).pipe(
      HttpClientRequest.basicAuth("api", apiKey),
      HttpClientRequest.bodyText(JSON.stringify(body), "application/json")
    )

  /** A GraphQL query, and its answer decoded with this schema. */
  const ask = <A>(query: keyof typeof queries, variables: object, answer: Schema.Codec<A, unknown>) => {
    const where = `${base}/graphql (${query})`
    const strange = (cause: Schema.SchemaError) =>
      new WandbError({ reason: "final", message: `${where} returned an unexpected answer: ${cause.message}`, cause })
    return send(where, post("/graphql", { query: queries[query], variables })).pipe(
      Effect.flatMap((text) => Effect.mapError(decodeErrors(text), strange)),
      Effect.flatMap(({ data, errors }) =>
        errors?.[0] === undefined
          ? Effect.mapError(Schema.decodeUnknownEffect(answer)(data), strange)
          : Effect.fail(new WandbError({ reason: "final", message: `${where}: ${excerpt(errors[0].message)}` }))
      )
    )
  }

  let isKnown = false
  const api: WandbApi = {
    upsertRun: Effect.fnUntraced(function* (run) {
      if (!isKnown) {
        const { viewer } = yield* ask("viewer", {}, Viewer)
        if (viewer === null) return yield* new WandbError({ reason: "final", message: `${base}: ${denials[401]}` })
        isKnown = true
      }
      const config = Object.fromEntries(Object.entries(run.config).map(([name, value]) => [name, { value }]))
      const { upsertBucket } = yield* ask(
        "upsert",
        {
          name: run.id,
          project: run.project,
          entity: run.entity,
          group: run.group,
          displayName: run.name,
          jobType: run.jobType,
          host: run.host,
          config: JSON.stringify(config)
        },
        Upserted
      )
      const { historyLineCount, name, project } = upsertBucket.bucket
      return {
        entity: project.entity.name,
        project: project.name,
        run: name,
        isNew: upsertBucket.inserted ?? false,
        lines: historyLineCount ?? 0
      }
    }),
    lastStep: ({ entity, project, run }) =>
      Effect.map(ask("status", { entity, project, name: run }, Status), ({ model }) => {
        const tail = decodeTail(model?.bucket?.historyTail ?? "[]")
        return tail._tag === "None" ? undefined : tail.value.at(-1)?.["_step"]
      }),
    upload: Effect.fnUntraced(function* ({ entity, project, run }, name, bytes) {
      const { createRunFiles } = yield* ask("createFiles", { entity, project, run, files: [name] }, Created)
      const target = createRunFiles.files[0]
      if (target === undefined) {
        return yield* new WandbError({ reason: "refused", message: `${base} has no upload address for ${name}` })
      }
      const headers = (createRunFiles.uploadHeaders ?? []).flatMap((header) => {
        const colon = header.indexOf(":")
        return colon < 0 ? [] : [[header.slice(0, colon), header.slice(colon + 1).trim()] as const]
      })
      const url = target.uploadUrl.startsWith("/") ? `${base}${target.uploadUrl}` : target.uploadUrl
      yield* send(
        `upload of ${name}`,
        HttpClientRequest.put(url, { headers: Object.fromEntries(headers) }).pipe(
          HttpClientRequest.bodyUint8Array(bytes, "application/json")
        )
      )
    }),
    stream: ({ entity, project, run }, request) =>
      Effect.asVoid(send(`${base} (file_stream)`, post(`/files/${entity}/${project}/${run}/file_stream`, request)))
  }
  return api
})
