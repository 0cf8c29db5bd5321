/**
 * The viewer's addresses, all behind `#`, so that they work on a service, on a file and in a bookmark.
 *
 * `#/?run=r`, `#/groups?run=r&<filter>`, `#/groups/r/17?rollout=2&view=tokens&token=40`, `#/service?run=r`,
 * `#/evaluations/3?with=7&sample=12`.
 */

export interface Location {
  readonly path: string
  /** Without `?`. */
  readonly search: string
}

/** `#/groups?run=a` as `{ path: "/groups", search: "run=a" }`. */
export const parse = (hash: string): Location => {
  const [path = "", ...search] = hash.replace(/^#?\/?/, "").split("?")
  return { path: `/${path}`, search: search.join("?") }
}

/** A part of a path as it was before it was written into one; as it stands where nobody wrote it so. */
export const decode = (part: string): string => {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** An address of the viewer; parameters that are null, undefined or empty are left out. */
export const format = (
  path: string,
  parameters: { readonly [name: string]: string | number | null | undefined } = {}
): string => {
  const search = new URLSearchParams(
    Object.entries(parameters).flatMap(([name, value]) =>
      value === null || value === undefined || value === "" ? [] : [[name, String(value)]]
    )
  ).toString()
  return search === "" ? path : `${path}?${search}`
}

export const runPath = (run: string | null): string => format("/", { run })
export const groupsPath = (run: string | null, item: string | null = null): string => format("/groups", { run, item })
export const hackingPath = (run: string | null): string => format("/hacking", { run })
export const reverifiedPath = (run: string | null): string => format("/reverified", { run })
export const notesPath = (run: string | null): string => format("/notes", { run })
/** Those of a run, or of all runs and of none: what `evaluate` sends without a run is listed there alone. */
export const evaluationsPath = (run: string | null = null, isOfAll = false): string =>
  format("/evaluations", { run, of: isOfAll ? "all" : null })
/** An evaluation, or two compared: the second with the first. */
export const evaluationPath = (id: string, compared: string | null = null): string =>
  format(`/evaluations/${encodeURIComponent(id)}`, { with: compared })
export const servicePath = (run: string | null): string => format("/service", { run })

/** Where to look in a group: which rollout (its place in the group, from 0), which token of it. */
export interface GroupFocus {
  readonly rollout?: number | null
  readonly view?: "tokens" | "compare" | "times" | null
  readonly token?: number | null
}

export const groupPath = (run: string, id: string, { rollout, token, view }: GroupFocus = {}): string =>
  format(`/groups/${encodeURIComponent(run)}/${encodeURIComponent(id)}`, { rollout, view, token })
