// Custom resources of networks, DNS and certificates.
const cdk = require('aws-cdk-lib');
const {
  aws_certificatemanager: acm, aws_ec2: ec2, aws_elasticloadbalancingv2: elb, aws_globalaccelerator: accelerator,
  aws_globalaccelerator_endpoints: endpoints, aws_iam: iam, aws_route53: route53,
} = cdk;

// Handlers look zones up by name, so each stack has a domain of its own.
const domain = (t) => t.stack.stackName.toLowerCase() + '.example.com';
const zone = (t) => new route53.PublicHostedZone(t.stack, 'Zone', { zoneName: domain(t) });
const vpc = (t, props) => new ec2.Vpc(t.stack, 'Vpc', { maxAzs: 1, natGateways: 0, ...props });

module.exports = {
  RestrictDefaultSecurityGroup: { define: (t) => vpc(t, { restrictDefaultSecurityGroup: !t.changed }) },
  VpcEndpointServiceDomainName: {
    define: (t) => {
      const balancer = new elb.NetworkLoadBalancer(t.stack, 'Balancer', { vpc: vpc(t) });
      const service = new ec2.VpcEndpointService(t.stack, 'Service', { vpcEndpointServiceLoadBalancers: [balancer] });
      new route53.VpcEndpointServiceDomainName(t.stack, 'Name', {
        endpointService: service, domainName: `${t.changed ? 'b' : 'a'}.${domain(t)}`, publicHostedZone: zone(t),
      });
    },
  },
  GlobalAcceleratorPeer: {
    define: (t) => {
      const network = vpc(t, { maxAzs: 2, restrictDefaultSecurityGroup: false });
      const balancer = new elb.ApplicationLoadBalancer(t.stack, 'Balancer', { vpc: network, internetFacing: true });
      const listener = new accelerator.Accelerator(t.stack, 'Accelerator').addListener('Listener', { portRanges: [{ fromPort: 443 }] });
      const group = listener.addEndpointGroup('Group', { endpoints: [new endpoints.ApplicationLoadBalancerEndpoint(balancer)] });
      balancer.connections.allowFrom(group.connectionsPeer('Peer', network), ec2.Port.tcp(t.changed ? 8443 : 443));
    },
  },
  DeleteExistingRecordSet: {
    define: (t) => new route53.ARecord(t.stack, 'Record', {
      zone: zone(t), recordName: 'www', deleteExisting: true,
      target: route53.RecordTarget.fromIpAddresses(t.changed ? '192.0.2.2' : '192.0.2.1'),
    }),
  },
  CrossAccountZoneDelegationRecord: {
    rejects: true,
    define: (t) => {
      const parent = zone(t);
      new route53.CrossAccountZoneDelegationRecord(t.stack, 'Record', {
        delegatedZone: new route53.PublicHostedZone(t.stack, 'Child', { zoneName: 'child.' + domain(t) }),
        delegationRole: new iam.Role(t.stack, 'Role', { assumedBy: new iam.AccountRootPrincipal() }),
        parentHostedZoneName: t.bad ? 'missing.example.com' : domain(t), ttl: cdk.Duration.minutes(t.changed ? 10 : 5),
      }).node.addDependency(parent);
    },
  },
  // In the failing app, the domain stays: changing it back would delete the records that the first certificate needs, on AWS too.
  // Without the clean-up of records, the handler waits for minutes before it deletes a certificate.
  DnsValidatedCertificate: {
    stays: true,
    define: (t) => t.out(new acm.DnsValidatedCertificate(t.stack, 'Certificate', {
      domainName: `${t.changed ? 'b' : 'a'}.${domain(t)}`, hostedZone: zone(t), cleanupRoute53Records: true,
    }).certificateArn),
  },
};
