/**
 * Loads XGrammar in WebAssembly (`@mlc-ai/web-xgrammar`, an optional peer), which computes the tokens allowed by a
 * grammar.
 *
 * The package is a browser script declared as a module, which Node cannot load: its text is run as a function body with
 * CommonJS arguments. Every call returns a new instance.
 */
import * as Installed from "@atropos/core/base/system/Installed"
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import packageJson from "../../package.json" with { type: "json" }

export interface Library {
  readonly TokenizerInfo: {
    readonly createTokenizerInfo: (
      tokens: ReadonlyArray<string>,
      kind: string,
      prependsSpace: boolean,
      size: number,
      ends: ReadonlyArray<number>
    ) => Promise<unknown>
  }
  readonly GrammarCompiler: {
    readonly createGrammarCompiler: (tokenizer: unknown, isCached: boolean) => Promise<Compiler>
  }
  readonly Grammar: { readonly fromEBNF: (text: string) => Promise<unknown> }
  readonly GrammarMatcher: {
    readonly createGrammarMatcher: (grammar: Compiled | undefined, ends: ReadonlyArray<number>) => Promise<Matcher>
  }
}

export interface Compiled {
  readonly dispose: () => void
}

export interface Compiler {
  readonly compileGrammar: (grammar: unknown) => Promise<Compiled>
}

export interface Matcher {
  readonly acceptToken: (token: number) => boolean
  /** Bit i % 32 of word i / 32 is 1 if token i may follow. */
  readonly getNextTokenBitmask: () => Promise<Int32Array>
  /** True if it has accepted a token that ends the answer. */
  readonly isTerminated: () => boolean
  readonly dispose: () => void
}

const name = "@mlc-ai/web-xgrammar"

export const missing = `answers constrained by a JSON schema need the package ${name}, which is not installed: npm install ${name}@${packageJson.peerDependencies[name]}`

export const isInstalled = (): boolean => Installed.folder(name, import.meta.url) !== undefined

/** Undefined if it is not installed. */
export const load = (): Library | undefined => {
  const folder = Installed.folder(name, import.meta.url)
  if (folder === undefined) return undefined
  const path = join(folder, "lib", "index.js")
  const module = { exports: {} }
  const parameters = ["exports", "module", "require", "__filename"]
  // oxlint-disable-next-line typescript/no-implied-eval -- an installed package's own file, see above
  const run = new Function(...parameters, readFileSync(path, "utf8")) as (...input: ReadonlyArray<unknown>) => void
  run(module.exports, module, createRequire(import.meta.url), path)
  // The shape is that of the pinned version.
  return module.exports as Library
}
