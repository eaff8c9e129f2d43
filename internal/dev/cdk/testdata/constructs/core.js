// Custom resources of the core library and of the modules custom-resources and triggers.
const fs = require('node:fs');
const path = require('node:path');
const cdk = require('aws-cdk-lib');
const { aws_iam: iam, aws_lambda: lambda, aws_route53: route53, aws_ssm: ssm, custom_resources: custom, triggers } = cdk;

const handler = path.join(__dirname, 'handler');
const inline = (stack, id, code) => new lambda.Function(stack, id, {
  runtime: lambda.Runtime.NODEJS_22_X, handler: 'index.handler', code: lambda.Code.fromInline(code),
});
const onEvent = (t) => inline(t.stack, 'OnEvent', fs.readFileSync(path.join(handler, 'index.js'), 'utf8'));
const isComplete = (t) => inline(t.stack, 'IsComplete', 'exports.handler = async () => ({ IsComplete: true })');
const name = (t) => (t.bad ? 'Nobody' : t.changed ? 'Blaise' : 'Ada');

const greet = (t, serviceToken) => {
  const greeting = new cdk.CustomResource(t.stack, 'Greeting', {
    serviceToken, resourceType: 'Custom::Greeting', properties: { Name: name(t) },
  });
  t.out(greeting.getAttString('Text'));
};

module.exports = {
  Provider: {
    rejects: true,
    define: (t) => greet(t, new custom.Provider(t.stack, 'Provider', { onEventHandler: onEvent(t) }).serviceToken),
  },
  ProviderIsComplete: {
    rejects: true,
    define: (t) => greet(t, new custom.Provider(t.stack, 'Provider', {
      onEventHandler: onEvent(t), isCompleteHandler: isComplete(t),
    }).serviceToken),
  },
  CustomResourceProvider: {
    rejects: true,
    define: (t) => greet(t, cdk.CustomResourceProvider.getOrCreate(t.stack, 'Custom::Greeting', {
      codeDirectory: handler, runtime: cdk.CustomResourceProviderRuntime.NODEJS_22_X,
    })),
  },
  AwsCustomResource: {
    rejects: true,
    define: (t) => {
      const parameter = new custom.AwsCustomResource(t.stack, 'Parameter', {
        onUpdate: {
          service: 'SSM', action: 'putParameter', physicalResourceId: custom.PhysicalResourceId.of('greeting'),
          parameters: {
            Name: '/constructs/greeting', Type: 'String', Value: name(t), Overwrite: true,
            ...(t.bad && { AllowedPattern: '[0-9]' }),
          },
        },
        onDelete: { service: 'SSM', action: 'deleteParameter', parameters: { Name: '/constructs/greeting' } },
        policy: custom.AwsCustomResourcePolicy.fromSdkCalls({ resources: custom.AwsCustomResourcePolicy.ANY_RESOURCE }),
        installLatestAwsSdk: false,
      });
      t.out(parameter.getResponseField('Version'));
    },
  },
  CfnJson: {
    define: (t) => {
      const key = new cdk.CfnParameter(t.stack, 'Key', { default: 'sub' });
      const json = new cdk.CfnJson(t.stack, 'Json', { value: { [key.valueAsString]: t.changed ? 'changed' : 'base' } });
      const principal = new iam.PrincipalWithConditions(new iam.AccountRootPrincipal(), { StringEquals: json });
      new iam.Role(t.stack, 'Role', { assumedBy: principal });
    },
  },
  CfnJsonStringify: {
    define: (t) => {
      const zone = new route53.PublicHostedZone(t.stack, 'Zone', { zoneName: 'stringify.example.com' });
      t.out(t.stack.toJsonString({ servers: zone.hostedZoneNameServers, changed: t.changed }));
    },
  },
  Trigger: {
    rejects: true,
    define: (t) => {
      const body = t.bad ? "throw new Error('the trigger fails')" : `return '${t.changed ? 'changed' : 'base'}'`;
      new triggers.TriggerFunction(t.stack, 'Trigger', {
        runtime: lambda.Runtime.NODEJS_22_X, handler: 'index.handler',
        code: lambda.Code.fromInline(`exports.handler = async () => { ${body} }`),
      });
    },
  },
  CrossRegionReferences: {
    crossRegion: true,
    context: { '@aws-cdk/core:defaultCrossStackReferences': 'strong' },
    define: (t) => {
      const other = t.other();
      const role = (id) => new iam.Role(other, id, { assumedBy: new iam.AccountRootPrincipal() });
      const parameter = new ssm.StringParameter(other, 'Parameter', { stringValue: t.changed ? 'changed' : 'base' });
      new ssm.StringParameter(t.stack, 'Reader', { stringValue: parameter.parameterName });
      t.out(role('Role').roleArn, 'Role');
      if (t.changed) t.out(role('Second').roleArn, 'Second');
    },
  },
};
