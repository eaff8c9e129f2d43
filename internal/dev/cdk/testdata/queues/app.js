// Queues that get the events of a bucket, of a topic and of a rule. The test has made queues of these names in another SQS.
const { App, CfnOutput, RemovalPolicy, Stack } = require('aws-cdk-lib');
const { EventBus, Rule } = require('aws-cdk-lib/aws-events');
const { SqsQueue } = require('aws-cdk-lib/aws-events-targets');
const { Bucket, EventType } = require('aws-cdk-lib/aws-s3');
const { SqsDestination } = require('aws-cdk-lib/aws-s3-notifications');
const { Topic } = require('aws-cdk-lib/aws-sns');
const { SqsSubscription } = require('aws-cdk-lib/aws-sns-subscriptions');
const { Queue } = require('aws-cdk-lib/aws-sqs');
const flags = require('aws-cdk-lib/recommended-feature-flags.json'); // as cdk init has them

const stack = new Stack(new App({ context: flags }), 'Queues');
const queue = (id, props) => new Queue(stack, id, props);

const bucket = new Bucket(stack, 'Bucket', { removalPolicy: RemovalPolicy.DESTROY });
bucket.addEventNotification(EventType.OBJECT_CREATED, new SqsDestination(queue('Objects', { queueName: 'objects' })), { prefix: 'in/' });

const topic = new Topic(stack, 'Topic');
topic.addSubscription(new SqsSubscription(queue('Envelopes', { queueName: 'envelopes' })));
topic.addSubscription(new SqsSubscription(queue('Texts', { queueName: 'texts' }), { rawMessageDelivery: true }));

const rule = new Rule(stack, 'Rule', { eventPattern: { source: ['kitchen'] } });
rule.addTarget(new SqsQueue(queue('Events', { queueName: 'events' })));
rule.addTarget(new SqsQueue(queue('Ordered', { queueName: 'ordered.fifo', fifo: true, contentBasedDeduplication: true }), { messageGroupId: 'oven' }));

new CfnOutput(stack, 'BucketName', { value: bucket.bucketName });
new CfnOutput(stack, 'TopicArn', { value: topic.topicArn });
