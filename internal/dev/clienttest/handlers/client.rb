# Answers with Net::HTTP, in the form that the resource's property Client names, as CLIENT:FORM.
require 'json'
require 'net/http'

api = "http://#{ENV.fetch('AWS_LAMBDA_RUNTIME_API')}/2018-06-01/runtime/invocation/"
http = URI(api)

def answer(event)
  form = event['ResourceProperties']['Client'].split(':').last
  url = URI(event['ResponseURL'])
  client = Net::HTTP.new(url.host, form == '443' ? 443 : url.port)
  client.use_ssl = form != 'url'
  body = %w[StackId RequestId LogicalResourceId].to_h { |name| [name, event[name]] }
  body.update('Status' => 'SUCCESS', 'PhysicalResourceId' => event['LogicalResourceId'])
  response = client.put(url.request_uri, JSON.generate(body), 'Content-Type' => '')
  raise "status #{response.code}" unless response.code == '200'
end

Net::HTTP.start(http.host, http.port, read_timeout: nil) do |runtime|
  loop do
    event = runtime.get(URI("#{api}next").path)
    path, said = '/response', 'null'
    begin
      request = JSON.parse(event.body)
      raise 'the ID of the invocation is that of the request' if event['Lambda-Runtime-Aws-Request-Id'] == request['RequestId']

      answer(request)
    rescue StandardError => e
      path = '/error'
      said = JSON.generate('errorType' => e.class.name, 'errorMessage' => e.message)
    end
    runtime.post(URI("#{api}#{event['Lambda-Runtime-Aws-Request-Id']}#{path}").path, said)
  end
end
