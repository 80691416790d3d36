// validate.mjs FILE...: what the Khronos validator says of glTF files, one line each. Exit 1 on any error or warning; where
// ERRORS_ONLY is set, on errors, for files that were not pelt's to begin with.

import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import validator from "gltf-validator";

let bad = 0;
for (const file of process.argv.slice(2)) {
  const { issues } = await validator.validateBytes(new Uint8Array(readFileSync(file)), {
    uri: file, maxIssues: 20,
    externalResourceFunction: async (uri) => new Uint8Array(readFileSync(join(dirname(file), decodeURIComponent(uri)))),
  });
  const { numErrors, numWarnings, numInfos, numHints, messages } = issues;
  console.log(`${file}: ${numErrors} errors, ${numWarnings} warnings, ${numInfos} infos, ${numHints} hints`);
  for (const { code, message, pointer } of messages.slice(0, 5)) console.log(`  ${code} ${pointer}: ${message}`);
  bad += numErrors + (process.env.ERRORS_ONLY ? 0 : numWarnings);
}
process.exit(bad ? 1 : 0);
