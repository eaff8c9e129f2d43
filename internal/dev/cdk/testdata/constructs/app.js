// Constructs of aws-cdk-lib that bring custom resources, a stack for each construct.
//   node app.js DIRECTORY base|changed|failing NAME…
// The program writes the assembly of an app with the stacks of these constructs. In the failing app, either the construct has a change
// that its handler rejects, or it changes back to the base one, and then a parameter fails that depends on all of the stack.
const cdk = require('aws-cdk-lib');
const { aws_s3: s3, aws_ssm: ssm } = cdk;
const flags = require('aws-cdk-lib/recommended-feature-flags.json'); // as cdk init has them

const constructs = {
  ...require('./core'), ...require('./storage'), ...require('./logs'), ...require('./services'), ...require('./network'),
};
const [outdir, variant, ...names] = process.argv.slice(2);
const app = new cdk.App({ outdir, analyticsReporting: false, context: flags });

for (const name of names) {
  // define makes the construct. rejects: its handler rejects what define makes if bad is set. stays: the failing app has the changed
  // construct. crossRegion and context are for its stacks.
  const { define, rejects, stays, crossRegion, context } = constructs[name];
  const stackOf = (id, region) => {
    const stack = new cdk.Stack(app, id, {
      env: { account: '000000000000', region }, crossRegionReferences: crossRegion, analyticsReporting: false,
    });
    for (const [key, value] of Object.entries(context ?? {})) stack.node.setContext(key, value);
    return stack;
  };
  const stack = stackOf(name, 'eu-west-1');
  define({
    stack,
    changed: variant === 'changed' || (variant === 'failing' && stays),
    bad: variant === 'failing' && rejects,
    other: () => stackOf(name + 'Other', 'us-east-1'),
    out: (value, id = 'Out') => new cdk.CfnOutput(stack, id, { value: cdk.Token.asString(value) }),
    bucket: (props) => new s3.Bucket(stack, 'Bucket', { removalPolicy: cdk.RemovalPolicy.DESTROY, ...props }),
  });
  if (variant === 'failing' && !rejects) {
    const before = stack.node.children.filter((child) => !cdk.Stack.isStack(child));
    new ssm.CfnParameter(stack, 'Rejected', { type: 'String', value: 'x', allowedPattern: '[0-9]' }).node.addDependency(...before);
  }
}
app.synth();
