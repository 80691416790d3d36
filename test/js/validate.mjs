// validate.mjs FILE...: what the Khronos validator says of glTF files, one line each. Exit 1 on any error or warning.

import { readFileSync } from "node:fs";
import validator from "gltf-validator";

let bad = 0;
for (const file of process.argv.slice(2)) {
  const { issues } = await validator.validateBytes(new Uint8Array(readFileSync(file)), { uri: file, maxIssues: 20 });
  const { numErrors, numWarnings, numInfos, numHints, messages } = issues;
  console.log(`${file}: ${numErrors} errors, ${numWarnings} warnings, ${numInfos} infos, ${numHints} hints`);
  for (const { code, message, pointer } of messages.slice(0, 5)) console.log(`  ${code} ${pointer}: ${message}`);
  bad += numErrors + numWarnings;
}
process.exit(bad ? 1 : 0);
