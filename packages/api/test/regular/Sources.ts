/** Finds the regular expressions of the project's sources: literals, and the locations that create others. */
import { globSync, readFileSync } from "node:fs"
import { join, relative } from "node:path"
import { fileURLToPath } from "node:url"
import { parseSync } from "vite"

export const root = fileURLToPath(new URL("../../../..", import.meta.url))

export interface Site {
  /** Path from the root of the repository. */
  readonly file: string
  readonly line: number
}

export interface Literal extends Site {
  readonly expression: RegExp
}

interface Node {
  readonly type: string
  readonly start: number
  readonly regex?: { readonly pattern: string; readonly flags: string }
  readonly callee?: { readonly name?: string }
}

const files = globSync(["packages/*/src/**/*.{ts,tsx,js}", "packages/api/viewer/src/**/*.{ts,tsx}"], { cwd: root })

const walk = (value: unknown, visit: (node: Node) => void): void => {
  if (typeof value !== "object" || value === null) return
  // Everything in the tree that has a type is a node.
  if ("type" in value && "start" in value) visit(value as Node)
  for (const part of Object.values(value)) walk(part, visit)
}

/** All of them, in the order of files and lines. */
export const expressions = (): { readonly literals: ReadonlyArray<Literal>; readonly made: ReadonlyArray<Site> } => {
  const literals: Array<Literal> = []
  const made: Array<Site> = []
  for (const path of files.toSorted()) {
    const text = readFileSync(join(root, path), "utf8")
    const { errors, program } = parseSync(path, text)
    if (errors.length > 0) throw new Error(`${path}: ${errors[0]?.message}`)
    const siteOf = ({ start }: Node): Site => ({ file: path, line: text.slice(0, start).split("\n").length })
    walk(program, (node) => {
      if (node.regex !== undefined) {
        literals.push({ ...siteOf(node), expression: new RegExp(node.regex.pattern, node.regex.flags) })
      }
      const isCall = node.type === "NewExpression" || node.type === "CallExpression"
      if (isCall && node.callee?.name === "RegExp") made.push(siteOf(node))
    })
  }
  return { literals, made }
}

export const fromRoot = (path: string): string => relative(root, path)
