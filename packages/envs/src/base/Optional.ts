/** Loads the optional peers of this package. */
import * as Optional from "@atropos/core/base/system/Optional"
import packageJson from "../../package.json" with { type: "json" }

export const { folder, load } = Optional.of(packageJson, import.meta.url)
